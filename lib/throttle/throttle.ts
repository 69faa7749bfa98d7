import type { NextFunction, Request, Response } from 'express'
import { type Advice, adviceOf } from '../advisor/advice'
import { HOURS_KEPT } from '../advisor/hourly'
import { asError } from '../http/callback'
import { nowUs } from '../http/clock'
import { TimeLimit } from '../http/deadline'
import { isPlainPath, withoutParameters } from '../http/request/dot-segments'
import { fullPath } from '../http/request/full-path'
import { hasLeft } from '../http/measure/client-gone'
import { Meter } from '../http/measure/meter'
import type { Middleware } from '../http/middleware'
import { optionRange } from '../http/options'
import { routeMatcher } from '../http/request/route-match'
import { stayAlive } from '../http/stay-alive'
import { Hold } from './budget/hold'
import { RouteTable } from './budget/price'
import { exposeForInspection } from './introspection'
import { checkMountOrder } from './setup/mount-order'
import { Overload } from './overload/overload'
import { type Policy, type ThrottleOptions, throttleOptions, waitRule } from './options'
import { clientWaitUs, generalPolicy, mostLimitMs, requestConcurrency, requestLimitUs, routeEntries } from './options'
import { Registry } from './registry'
import { ThrottledRequest } from './request/request'
import { type RequestHold, type ThrottleRules, type ThrottleWindow, isStricter } from './request/window'
import { StallSharing } from './request/stalls'
import { SharedStore } from './store/shared-store'
import { CLOSING_MS, WAITS_MS } from './store/store'
import { UNKNOWN_ADDRESS, isAddressSubject, subjectKey, subjectOf } from './subject'
import { type Usage, resetUsage, usageOf } from './usage'
import {
  checkReuse,
  orderCheck,
  warnOfMountedKey,
  warnOfProcesses,
  warnOfSubject,
  warnOfTwoStores,
} from './setup/warnings'

/** What `throttle()` returns: the middleware, with what an operator needs. */
export interface Throttle extends Middleware {
  /**
   * What a subject has used of each window of this throttle, over all processes. Where the store does not answer within
   * two seconds, as far as is known here.
   *
   * @param subject as `req.throttle.subject` names it
   */
  usage(subject: string): Promise<Usage[]>
  /**
   * Resets a subject's usage of the windows open now, in every process.
   *
   * @throws {Error} where the store does not answer within two seconds: nothing was reset
   */
  reset(subject: string): Promise<void>
  /**
   * What limits would mean for users, for each window of this throttle: how much processing time subjects used, over all
   * processes, in the last hours. {@link Advice} has the figures. Counted in a dry run and in operation; without a store,
   * by this process since it started.
   *
   * @experimental
   * @example const [advice] = await throttled.advise({ hours: 24, limitsMs: [10_000, 18_000] })
   * @throws {Error} where the store does not answer within two seconds
   * @throws {RangeError} naming the option that is out of its range
   */
  advise(options?: {
    /** Hours of the figures: windows that end in the present hour and those before it. 1 to 168. Default 24. */
    readonly hours?: number | undefined
    /** Candidate limits in milliseconds, 1 to 32 × the longest `windowMs` each. Default: 0.5, 1, 2 and 5 times the present one. */
    readonly limitsMs?: readonly number[] | undefined
  }): Promise<Advice[]>
  /**
   * Resolves when the store answers; at once where there is none. For the start of a process that is not to serve
   * without it.
   *
   * @param options `withinMs`: how long to try, whole, 1 to 600,000. Default: until it is
   *   known not to answer, which takes about a second, and two at most
   * @throws {Error} where the store does not answer within that time: which server, why, what happens meanwhile and what
   *   to do
   * @example await throttled.ready({ withinMs: 30_000 })
   */
  ready(options?: { readonly withinMs?: number | undefined }): Promise<void>
  /**
   * Publishes what is not published, gives back what was granted ahead, and resolves when the store has answered or its
   * deadline has passed: within two seconds. For handlers in processes that are frozen after their answer.
   */
  flush(): Promise<void>
  /**
   * Publishes the last charges and closes the store's connection, within three seconds whatever the store does. Safe to
   * call twice.
   */
  close(): Promise<void>
  /** As `close()`: `await using throttled = throttle({ store })`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** The pause between two questions whether the store answers. */
const READY_PAUSE_MS = 100

/** A window of a throttle with its policy. */
interface OpenPolicy extends ThrottleWindow {
  readonly policy: Policy
}

/**
 * Middleware that limits the processing time of each subject per window: by default 18 s a minute for each user, over all
 * sessions and apps. Over the limit it answers 429 with `Retry-After`.
 *
 * Sets `req.throttle`, and the response headers `X-PROCESSING-TIME` and `X-THROTTLE-*` unless `headers` says otherwise.
 *
 * @example
 * app.use(throttle())
 * app.use(throttle({ limitMs: 18_000, windowMs: 60_000, routes: { '/search': { limitMs: 5_000, windowMs: 10_000 } } }))
 * @throws {TypeError | RangeError} in the factory, naming the option that is wrong
 */
export function throttle(options: ThrottleOptions = {}): Throttle {
  const values = throttleOptions(options)
  const { routes, store, subject, maxSubjects, onOutage, dryRun, headers, clock } = values
  const overload = values.overload && Overload.of(clock)

  const rules: ThrottleRules = {
    wait: waitRule(values),
    load: overload,
    isWaitRefused: values.wait === false,
    onOutage,
    dryRun,
    stalls: StallSharing.forClock(clock),
    headers,
    deny: options,
    clock,
  }
  if (store === undefined) warnOfProcesses()
  const registry = Registry.of(store)
  /** Each window stands here once, even if several routes share it. */
  const windows: OpenPolicy[] = []
  /** The names of all opened policies: the registry counts each of them. */
  const names: string[] = []
  const policy = generalPolicy(values)
  const entries = routeEntries(routes, policy)
  const general = open(policy)
  const opened = entries.map((entry) => ({ ...entry, value: entry.value && open(entry.value) }))
  const routed = routeMatcher('routes', opened)
  const keys = entries.map((entry) => ({ ...entry, value: entry.path }))
  const keyOf = routeMatcher('routes', keys)
  let closed: Promise<void> | undefined
  const madeAt = performance.now()
  /** The first two requests show how the app uses the throttle. */
  let requests: 0 | 1 | 2 = 0

  function throttle(req: Request, res: Response, next: NextFunction): void {
    if (requests === 0) checkMountOrder(throttle, req, res)
    if (requests < 2) checkReuse(req, policy.name, madeAt, (requests = requests === 0 ? 1 : 2))
    const now = nowUs(clock)
    const isMeasured = !dryRun || Meter.on(res) !== undefined
    const meter = Meter.of(res, clock, now)
    if (!dryRun) meter.isTimeHidden = !headers.processingTime
    else if (!isMeasured) meter.isTimeHidden = true // clients see nothing of a dry run
    let request: ThrottledRequest
    let hold: RequestHold
    let held: RequestHold | undefined
    try {
      const chosen = opened.length === 0 ? general : policyFor(req)
      if (chosen === false) return next()
      if (chosen === general && keys.length > 0 && req.baseUrl) warnOfMountedKey(req, keys, keyOf)
      const who = subjectOf(req, subject, values)
      if (who === null) return next()
      if (who === UNKNOWN_ADDRESS && hasLeft(res)) return ThrottledRequest.of(meter)?.leave(now)
      const { policy, accounts } = chosen
      const limitUs = requestLimitUs(policy, req)
      const concurrency = requestConcurrency(policy, req)
      const account = accounts.payer(subjectKey(who), maxSubjects, req, now)
      if (subject !== undefined && account.limitUs === 0) warnOfSubject(who, subject) // the account's first request
      request = ThrottledRequest.of(meter) ?? new ThrottledRequest(meter, req, res, next)
      held = request.heldIn(account, accounts)
      if (held !== undefined && held.window.accounts !== accounts) warnOfTwoStores(accounts.name)
      if (held !== undefined && !isStricter(rules, held.window)) return next()
      meter.eventStreams ??= policy.eventStreams
      meter.endsWithClient ??= policy.endsWithClient
      if (isAddressSubject(who)) request.orderCheck ??= orderCheck(req, subject)
      const route = chosen.routes.of(req.method, fullPath(req))
      hold = new Hold(account, chosen, meter, route, who, limitUs, clientWaitUs(policy, limitUs), concurrency)
    } catch (err) {
      if (hasLeft(res)) return ThrottledRequest.of(meter)?.leave(now) // of `req.ip`, which is undefined then
      return next(asError(err)) // a host that is not Express would let the process end
    }
    request.askWindow(hold, next, now, held)
  }

  /** A path that servers read differently may be any other path: it is exempt from nothing, and the strictest window counts. */
  function policyFor(req: Request): OpenPolicy | false {
    const path = fullPath(req)
    const named = routed(req, path) ?? general
    const bare = withoutParameters(path)
    const isOne = bare === path || named === (routed(req, bare) ?? general)
    if (isOne && isPlainPath(path)) return named
    const shares = windows.map((window) => shareOf(window.policy, req))
    return windows[shares.indexOf(Math.min(...shares))] as OpenPolicy
  }

  function open(policy: Policy): OpenPolicy {
    const opened = { ...rules, policy, accounts: registry.open(policy, clock), routes: new RouteTable() }
    names.push(policy.name)
    if (!windows.some(({ accounts }) => accounts === opened.accounts)) windows.push(opened)
    return opened
  }

  const limit = (ms = WAITS_MS) => new TimeLimit(clock, ms)

  async function usage(who: string): Promise<Usage[]> {
    const time = limit()
    return Promise.all(windows.map(({ policy, accounts }) => usageOf(policy, accounts, subjectKey(who), time)))
  }

  async function advise({ hours = 24, limitsMs }: Exclude<Parameters<Throttle['advise']>[0], undefined> = {}): Promise<
    Advice[]
  > {
    optionRange('hours', hours, 1, HOURS_KEPT)
    const most = mostLimitMs(Math.max(...windows.map(({ policy }) => policy.windowMs)))
    for (const limit of limitsMs ?? []) optionRange('limitsMs', limit, 1, most)
    const time = limit()
    return Promise.all(
      windows.map(async ({ policy, accounts }) =>
        adviceOf(policy, await accounts.usageUntilNow().read(hours, policy.windowMs, time), hours, dryRun, limitsMs),
      ),
    )
  }

  async function reset(who: string): Promise<void> {
    const time = limit()
    await Promise.all(windows.map(({ accounts }) => resetUsage(accounts, subjectKey(who), time)))
  }

  async function ready({ withinMs }: { readonly withinMs?: number | undefined } = {}): Promise<void> {
    if (withinMs !== undefined) optionRange('withinMs', withinMs, 1, 600_000)
    const time = limit(withinMs)
    for (;;) {
      const failure = await (shared?.ready(time) ?? Promise.resolve()).then(
        () => undefined,
        (err: Error) => err,
      )
      if (failure === undefined || closed !== undefined) return
      if (withinMs === undefined || time.leftMs === 0) throw failure
      await time.pause(READY_PAUSE_MS)
    }
  }

  async function flush(): Promise<void> {
    const time = limit()
    await Promise.all(windows.map(({ accounts }) => accounts.flush(time)))
  }

  function close(): Promise<void> {
    leaveOverload?.()
    const time = limit(CLOSING_MS)
    return (closed ??= stayAlive(Promise.all(names.map((name) => registry.close(name, time))).then(() => undefined)))
  }

  const leaveOverload = values.overload && overload?.join(values.overload)
  const shared = store && SharedStore.of(store, clock).note(onOutage)
  exposeForInspection(throttle, { windows, shared, clock, overload, stalls: rules.stalls })
  return Object.assign(throttle, {
    usage: (who: string) => stayAlive(usage(who)),
    reset: (who: string) => stayAlive(reset(who)),
    advise: (given?: Parameters<typeof advise>[0]) => stayAlive(advise(given)),
    flush: () => stayAlive(flush()),
    ready: (options?: { readonly withinMs?: number | undefined }) => stayAlive(ready(options)),
    close,
    [Symbol.asyncDispose]: close,
  }) as Throttle
}

/** How much of a window's length may be used. */
function shareOf(policy: Policy, req: Request): number {
  return requestLimitUs(policy, req) / policy.windowMs
}
