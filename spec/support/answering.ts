import type { OAuthStore } from '../../lib/oauth'
import { until } from './until'

/** Waits until the store answers: where the machine is busy a first connection takes longer than a store waits for it. */
export async function answering(store: OAuthStore): Promise<void> {
  const answers = () =>
    store.get('nothing').then(
      () => true,
      () => false,
    )
  await until(answers)
}
