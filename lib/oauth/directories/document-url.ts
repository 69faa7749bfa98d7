import { urlOf } from '../../http/url'
/** Whether the text is the URL of a document: `https`, with a path, written as URL parsers write it. */
export function isDocumentUrl(text: string): boolean {
  const url = text.startsWith('https://') ? urlOf(text) : undefined
  if (!url) return false
  const { href, pathname, hash, username, password } = url
  return href === text && pathname !== '/' && hash === '' && username === '' && password === ''
}
