/** Markup that {@link html} made, safe to send. */
export class Html {
  constructor(readonly text: string) {}
}

/** What a template takes: text, which is escaped, markup, lists of both, and nothing for what is absent. */
export type HtmlValue = string | Html | false | undefined | readonly HtmlValue[]

/**
 * Markup with values in it: html`<p>${text}</p>`. Text is escaped, once, and never looked at again: what it says is no
 * markup and no placeholder. Words that are {@link isolated} become `<bdi>` elements, except in attributes, which take none.
 */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = parts[0] as string
  for (const [i, value] of values.entries()) {
    text += markupOf(value, parts[i]?.endsWith('="') ?? false) + (parts[i + 1] as string)
  }
  return new Html(text)
}

/** Text for an element that takes no other elements: `<title>`. */
export function textOnly(text: string): Html {
  return new Html(escaped(text))
}

function markupOf(value: HtmlValue, isAttribute: boolean): string {
  if (value === undefined || value === false) return ''
  if (value instanceof Html) return value.text
  if (typeof value !== 'string') return value.map((one) => markupOf(one, isAttribute)).join('')
  return isAttribute ? escaped(value) : withIsolates(escaped(value))
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] as string)
}

const [ISOLATE, END_OF_ISOLATE] = ['\u2068', '\u2069'] as const

/**
 * Somebody else's words, marked so that their direction does not turn the text around them (Unicode UAX #9, FSI and PDI).
 * Their own marks of direction are dropped: unpaired ones would reach beyond the words.
 */
export function isolated(words: string): string {
  return ISOLATE + words.replace(/[\u202a-\u202e\u2066-\u2069]/g, '') + END_OF_ISOLATE
}

function withIsolates(escapedText: string): string {
  return escapedText.replaceAll(ISOLATE, '<bdi>').replaceAll(END_OF_ISOLATE, '</bdi>')
}
