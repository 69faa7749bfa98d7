import { setMaxListeners } from 'node:events'
import { callGuarded, whenAnswered } from '../http/callback'
import type { Clock } from '../http/clock'
import type { VerifiedToken } from './issuers/token-verifier'
import type { Reason } from './refusal/refusal'
import type { RevocationSource } from './revocation/revocation-source'
import type { Session } from './session/session'

/** A session whose end somebody waits for. */
interface Open {
  readonly session: Session
  readonly verified: VerifiedToken
  readonly aborter: AbortController
}

/** A look that fails says nothing: the next request reports the failure. */
const nextRequestTells = (): void => undefined
/** Interval of looks. Another process's revocation comes after at most 250 ms, so a session ends within a second. */
const LOOK_MS = 500
/** Sessions looked at in one turn of the event loop. A look after a new revocation takes up to 30 µs. */
const AT_ONCE = 500
/** Largest number of open sessions. Beyond it the oldest ends: its client connects again. */
const MOST_OPEN = 100_000

/**
 * Makes the signals of sessions: one for each token, watched until the token has ended.
 *
 * @param ended makes the reason of a signal
 */
export function sessionSignals(
  revocation: RevocationSource | undefined,
  clock: Clock,
  ended: (refused: Reason) => Error,
): (session: Session, verified: VerifiedToken) => AbortSignal {
  const open = new Map<string, Open>()
  let round = open.values()
  let [turn, turns] = [0, 1]
  let isTimed = false

  return function signalOf(session, verified) {
    const known = open.get(session.token)
    if (known) return known.aborter.signal
    const one = { session, verified, aborter: new AbortController() }
    setMaxListeners(0, one.aborter.signal) // many connections may have one token
    open.set(session.token, one)
    look(one)
    lookLater()
    const [oldest] = open.size > MOST_OPEN ? open.values() : []
    if (oldest) end(oldest, 'expired')
    return one.aborter.signal
  }

  /** Looks at all open sessions, in turns of a round, while there are any. */
  function lookLater(): void {
    if (isTimed || open.size === 0) return
    isTimed = true
    clock.after(LOOK_MS / turns, () => {
      isTimed = false
      if (turn === 0) [round, turns] = [open.values(), Math.ceil(open.size / AT_ONCE)]
      turn = (turn + 1) % turns
      for (let i = 0; i < AT_ONCE; i++) {
        const { value } = round.next()
        if (value === undefined) break
        look(value)
      }
      lookLater()
    })
  }

  function look(one: Open): void {
    if (clock.date() / 1_000 >= one.verified.untilSec) end(one, 'expired')
    else callGuarded(() => ask(one), nextRequestTells)
  }

  function ask(one: Open) {
    return whenAnswered(revocation?.state(one.session, one.verified.rules), (state) => {
      if (state === 'revoked') end(one, 'revoked')
    })
  }

  function end(one: Open, refused: Reason): void {
    open.delete(one.session.token)
    one.aborter.abort(ended(refused))
  }
}
