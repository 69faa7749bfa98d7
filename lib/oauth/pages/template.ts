/** A template's values: texts, lists of texts, and booleans that show or hide a section. */
export type TemplateValues = Readonly<Record<string, string | readonly string[] | boolean | undefined>>

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

/**
 * Fills a template. `{{name}}` inserts the escaped value. `{{#name}}…{{/name}}` is shown if the value is true or a text that
 * is not empty, and repeated for each text of a list, as `{{.}}`. There is no way to insert unescaped text.
 */
export function fillTemplate(template: string, values: TemplateValues): string {
  return template
    .replace(/\{\{#(\w+)\}\}([\s\S]*?)\{\{\/\1\}\}/g, (_, name: string, inner: string) => {
      const value = values[name]
      if (Array.isArray(value))
        return value.map((text: string) => fillTemplate(inner, { ...values, '.': text })).join('')
      return value === undefined || value === false || value === '' ? '' : fillTemplate(inner, values)
    })
    .replace(/\{\{([\w.]+)\}\}/g, (_, name: string) => {
      const value = values[name]
      return typeof value === 'string' ? escapeHtml(value) : ''
    })
}
