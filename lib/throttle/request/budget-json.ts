import type { RequestBudget } from './charges'

/** What is shown of a budget: figures, and no methods. */
export type BudgetJson = Pick<RequestBudget, 'subject' | 'window' | 'spentMs' | 'leftMs' | 'endsInMs'>

/** A budget as `JSON.stringify()`, `console.log()` and loggers show it. */
export function budgetJson({ subject, window, spentMs, leftMs, endsInMs }: BudgetJson): BudgetJson {
  return { subject, window, spentMs, leftMs, endsInMs }
}
