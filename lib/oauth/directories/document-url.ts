/** Whether the text is the URL of a document: `https`, with a path, written as URL parsers write it. */
export function isDocumentUrl(text: string): boolean {
  if (!text.startsWith('https://') || !URL.canParse(text)) return false
  const { href, pathname, hash, username, password } = new URL(text)
  return href === text && pathname !== '/' && hash === '' && username === '' && password === ''
}
