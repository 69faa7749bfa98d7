import { setTimeout as sleep } from 'node:timers/promises'
import { Router } from 'express'
import { budgetOf, sessionOf } from 'express-tollgate'
import { persons, places } from './data'

/** Duration of a search of the whole tree, in milliseconds. */
const SEARCH_MS = 2_000

/** The protected API. Handlers learn of tokens and windows from `req` only. */
export function resources(searchMs: number = SEARCH_MS): Router {
  const router = Router()
  router.use((req, res, next) => {
    res.type(req.app.get('tollgate dialect') === 'standard' ? 'json' : 'application/x-fs-v1+json')
    next()
  })

  router.get('/places', (req, res) => {
    const wanted = textOf(req.query.q).toLowerCase()
    res.send(JSON.stringify({ places: places.filter(({ name }) => name.toLowerCase().includes(wanted)) }))
  })

  router.get('/dates', (req, res) => {
    const original = textOf(req.query.date)
    const time = Date.parse(`${original} UTC`)
    const formal = Number.isNaN(time) ? undefined : `+${new Date(time).toISOString().slice(0, 10)}`
    res.send(JSON.stringify({ dates: [{ original, formal }] }))
  })

  router.get('/users/current', (req, res) => {
    const session = sessionOf(req)
    if (session.kind !== 'user') return void res.status(404).send(JSON.stringify({ errors: [{ code: 404 }] }))
    res.send(JSON.stringify({ users: [{ id: session.userId, app: session.clientId, leftMs: budgetOf(req).leftMs }] }))
  })

  router.get('/tree/persons/:id', (req, res) => {
    const person = persons.get(req.params.id)
    if (!person) return void res.status(404).send(JSON.stringify({ errors: [{ code: 404 }] }))
    res.send(JSON.stringify({ persons: [person] }))
  })

  // Slow. It stops when the client disconnects, and then costs nothing more.
  router.get('/tree/search', (req, res, next) => {
    const wanted = textOf(req.query.name).toLowerCase()
    const found = [...persons.values()].filter(({ display }) => display.name.toLowerCase().includes(wanted))
    sleep(searchMs, undefined, { signal: budgetOf(req).signal })
      .then(() => res.send(JSON.stringify({ persons: found })))
      .catch((err: unknown) => (budgetOf(req).signal.aborted ? res.end() : next(err)))
  })

  return router
}

function textOf(parameter: unknown): string {
  return typeof parameter === 'string' ? parameter : ''
}
