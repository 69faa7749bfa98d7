import { isLink } from './page-options'

/** A template's values: texts, lists, and booleans that show or hide a section. */
export type TemplateValues = { readonly [name: string]: TemplateValue }
type TemplateValue = string | boolean | undefined | readonly (string | TemplateValues)[]

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '{': '&#123;', // else a text could contain a placeholder
}

/** Escapes text for HTML content, quoted attributes and templates. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"'{]/g, (character) => ENTITIES[character] as string)
}

const [ISOLATE, END_OF_ISOLATE] = ['\u2068', '\u2069'] as const

/**
 * Somebody else's words, marked so that their direction does not turn the text around them (Unicode UAX #9, FSI and PDI).
 * Their own marks of direction are dropped: unpaired ones would reach beyond the words.
 */
export function isolated(words: string): string {
  return ISOLATE + words.replace(/[\u202a-\u202e\u2066-\u2069]/g, '') + END_OF_ISOLATE
}

/**
 * Fills a template. `{{name}}` inserts the escaped value. `{{#name}}…{{/name}}` is shown if the value is true or a text that
 * is not empty, and repeated for each entry of a list: a text as `{{.}}`, or values of its own. There is no way to insert unescaped text. Words that are
 * {@link isolated} become `<bdi>` elements, except in attributes and in `<title>`, which take none.
 */
export function fillTemplate(template: string, values: TemplateValues): string {
  return template
    .replace(/\{\{#(\w+)\}\}([\s\S]*?)\{\{\/\1\}\}/g, (_, name: string, inner: string) => {
      const value = values[name]
      if (Array.isArray(value)) {
        const entries = value as readonly (string | TemplateValues)[]
        const own = (entry: string | TemplateValues) => (typeof entry === 'string' ? { '.': entry } : entry)
        return entries.map((entry) => fillTemplate(inner, { ...values, ...own(entry) })).join('')
      }
      return value === undefined || value === false || value === '' ? '' : fillTemplate(inner, values)
    })
    .replace(/(?<=("|<title>[^<]*)?)\{\{([\w.]+)\}\}/g, (_, isPlain: string | undefined, name: string) => {
      const value = values[name]
      if (typeof value !== 'string') return ''
      const text = name === 'note' ? withLinks(escapeHtml(value)) : escapeHtml(value)
      return isPlain ? text : text.replaceAll(ISOLATE, '<bdi>').replaceAll(END_OF_ISOLATE, '</bdi>')
    })
}

/** An escaped text with its links as links. What is isolated is somebody else's words, and stays text. */
function withLinks(escaped: string): string {
  const pieces = escaped.split(/(\u2068[^\u2069]*\u2069)/)
  return pieces.map((piece) => (piece.startsWith(ISOLATE) ? piece : piece.replace(LINK, linkOf))).join('')
}

const LINK = /&lt;a href=&quot;([^\s<>]{1,500}?)&quot;&gt;([^<>]{1,200}?)&lt;\/a&gt;/g

function linkOf(all: string, href: string, text: string): string {
  return isLink({ text, href: href.replaceAll('&amp;', '&') }) ? `<a href="${href}">${text}</a>` : all
}
