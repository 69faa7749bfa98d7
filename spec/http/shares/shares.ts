import type { TestContext } from 'node:test'

/**
 * Cases by the rows of the table "What strangers share" of docs/security.md: one actor causes ten times the bound, another
 * is served meanwhile, and memory or keys are back afterwards. Some rows have several.
 */
export type Shares = Readonly<Record<string, readonly ((t: TestContext) => Promise<void> | void)[]>>

/** An actor who takes all there is, and an honest one: addresses of different blocks, and names of users and apps. */
export const [EVE, ADA] = ['198.51.100.7', '203.0.113.9']
