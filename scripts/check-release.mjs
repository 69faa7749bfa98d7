// Runs before `npm publish` (prepublishOnly): package.json says where the project lives, and the changelog has the
// version. No tool that people know checks either. docs/releasing.md has the steps.
import { readFileSync } from 'node:fs'

const pkg = JSON.parse(readFileSync('package.json', 'utf8'))
const addresses = { 'repository.url': pkg.repository?.url, homepage: pkg.homepage, 'bugs.url': pkg.bugs?.url }
const missing = Object.keys(addresses).filter((field) => !addresses[field])
if (missing.length > 0) fail(`package.json has no ${missing.join(', ')}: fill in the address of the public repository.`)
const sections = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m)
const entry = sections.find((section) => section.startsWith(`[${pkg.version}]`)) ?? ''
if (!/^\S+ - \d{4}-\d\d-\d\d\n[^]*^- /m.test(entry)) {
  fail(`CHANGELOG.md has no entries under "## [${pkg.version}] - YYYY-MM-DD": write the day in place of Unreleased.`)
}
if (sections.some((section) => /^.*unreleased[^]*\n- /i.test(section))) {
  fail(`CHANGELOG.md has entries under Unreleased: move them below ${pkg.version}, or keep them on a branch.`)
}

function fail(why) {
  console.error(why)
  process.exit(1)
}
