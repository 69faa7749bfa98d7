// Users in SQL, whose bcrypt hashes become this package's own as they sign in. No page of your own is needed.
import bcrypt from 'bcryptjs'
import express from 'express'
import { authorizationServer, clientDirectory, hashPassword, verifyPassword } from 'express-tollgate/oauth'
import { DatabaseSync } from 'node:sqlite' // Node 22.13 and later; docs/authorization-server.md has one for Node 20

const port = Number(process.env.PORT ?? 3000)
const home = process.env.APP ?? 'http://localhost:5173' // of the app to which people sign in
const db = new DatabaseSync(process.env.DATABASE ?? ':memory:')
db.exec('create table if not exists users (id integer primary key, username text unique, password_hash text not null)')
const byName = db.prepare('select * from users where username = ?')
const byId = db.prepare('select * from users where id = ?')
const setHash = db.prepare('update users set password_hash = ? where id = ? and password_hash = ?')
if (!byName.get('ada')) {
  const add = db.prepare('insert into users (username, password_hash) values (?, ?)')
  add.run('ada', await bcrypt.hash('analytical engine', 10)) // as an older system left it
}

const DUMMY = await bcrypt.hash('nobody', 10) // of the cost that your old hashes have
const users = {
  async authenticate(name, password) {
    const row = byName.get(name.trim().toLowerCase())
    const isOld = row?.password_hash.startsWith('$2') ?? false
    // Both checks run for every name: an unknown name takes as long as an old or a new one.
    const fitsOld = await bcrypt.compare(password, isOld ? row.password_hash : DUMMY)
    const fitsNew = await verifyPassword(password, isOld ? undefined : row?.password_hash)
    if (!row || !(isOld ? fitsOld : fitsNew)) return undefined
    // Changes nothing if the user has set another password meanwhile.
    if (isOld) setHash.run(await hashPassword(password), row.id, row.password_hash)
    return { id: row.id, username: row.username }
  },
  async findUser(id) {
    const row = byId.get(id)
    return row && { id: row.id, username: row.username }
  },
}

const server = authorizationServer({
  issuer: `http://localhost:${port}`,
  clients: clientDirectory([{ clientId: 'web', name: 'Web App', redirectUris: [`${home}/callback`] }]),
  users,
})
const app = express().set('tollgate dialect', 'standard')
app.use(server)
app.listen(port, () => console.log(`http://localhost:${port}`))
