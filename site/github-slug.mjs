/** Anchors as GitHub makes them, so that a link works there and on the site: lower case, letters, digits, `-`, `_`. */
export function githubSlug() {
  return (title) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-')
}
