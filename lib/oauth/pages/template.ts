/** What a template is filled with: texts, lists of texts, and whether a section is shown. */
export type TemplateValues = Readonly<Record<string, string | readonly string[] | boolean | undefined>>

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '{': '&#123;', // so that no text is taken for a place in a template
}

/** Text as it may stand in HTML, between tags and in quoted attributes, and in a template. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"'{]/g, (character) => ENTITIES[character] as string)
}

/**
 * Fills a template: `{{name}}` is escaped, always; `{{#name}}…{{/name}}` is shown where the value is true or a text that is
 * not empty, and once for each text of a list, as `{{.}}`. There is no way to insert a text unescaped.
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
