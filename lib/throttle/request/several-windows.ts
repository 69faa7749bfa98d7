import type { SharedWindow } from '../sync/shared-window'
import type { Decision, ThrottleRefusal, Ticket, WaitRule } from '../window/decision'
import type { SubjectWindow } from '../window/subject-window'

/** One window that a request is to be admitted to. */
export interface WindowPlace {
  readonly window: SharedWindow
  /** What the window keeps the subject as. */
  readonly keptAs: string
  readonly limitUs: number
  /** What the request is expected to take there, in microseconds. */
  price(of: SubjectWindow): number
}

/** Admitted to all windows, or refused by one. */
export type JointDecision =
  { readonly tickets: Map<WindowPlace, Ticket> } | { readonly place: WindowPlace; readonly refusal: ThrottleRefusal }

const AT_ONCE: WaitRule = { maxUs: 0, perSubject: 0 }

/**
 * Admits a request to several windows, or to none. It never holds time in one window while it waits for room in
 * another: a subject's waiting requests would take that from others who share the window.
 *
 * @param first the ticket that the request already has
 * @param waitLeft how it may wait from now on
 * @param isGone whether the client has gone: then the answer is a promise that never settles
 */
export async function admitToAll(
  places: readonly WindowPlace[],
  first: { readonly place: WindowPlace; readonly ticket: Ticket },
  waitLeft: () => WaitRule,
  isGone: () => boolean,
): Promise<JointDecision> {
  const tickets = new Map<WindowPlace, Ticket>([[first.place, first.ticket]])
  for (;;) {
    const blocked = await fillUp(places, tickets)
    if (blocked === undefined) return { tickets }
    for (const [{ window }, ticket] of tickets) window.release(ticket)
    tickets.clear()
    const wait = waitLeft()
    const isFinal = blocked.refusal.reason === 'spent' || blocked.refusal.reason === 'outage' || wait.maxUs <= 0
    if (isFinal) return blocked
    const decision = await decisionOf(blocked.place, wait, isGone)
    if ('refusal' in decision) return { place: blocked.place, refusal: decision.refusal }
    tickets.set(blocked.place, decision.ticket)
  }
}

/**
 * Always settles, also when the client goes: the tickets it holds must not be lost.
 *
 * Takes what can be had without waiting for room. Returns the first window that has none, with its refusal.
 */
async function fillUp(
  places: readonly WindowPlace[],
  tickets: Map<WindowPlace, Ticket>,
): Promise<{ readonly place: WindowPlace; readonly refusal: ThrottleRefusal } | undefined> {
  for (const place of places) {
    if (tickets.has(place)) continue
    const decision = await decisionOf(place, AT_ONCE, () => false)
    if ('refusal' in decision) return { place, refusal: decision.refusal }
    tickets.set(place, decision.ticket)
  }
  return undefined
}

function decisionOf(place: WindowPlace, wait: WaitRule, isGone: () => boolean): Promise<Decision> {
  return new Promise((resolve) => {
    const verdict = place.window.admit(place.keptAs, {
      price: (of) => place.price(of),
      limitUs: place.limitUs,
      wait,
      get gone() {
        return isGone()
      },
      waits: () => undefined,
      decided: resolve,
    })
    if (!('until' in verdict)) resolve(verdict)
  })
}
