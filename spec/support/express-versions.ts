import express5 from 'express'

// eslint-disable-next-line @typescript-eslint/no-require-imports -- it has no types of its own; Express 5's fit here
const express4 = require('express4') as typeof express5

/** Both versions of Express that are supported, for specs of what goes through their prototypes and routers. */
export const EXPRESS_VERSIONS: readonly (readonly [name: string, express: typeof express5])[] = [
  ['Express 4', express4],
  ['Express 5', express5],
]
