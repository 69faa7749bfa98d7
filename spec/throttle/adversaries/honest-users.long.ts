// The users of the study that honest-users.spec.ts leaves out.
import { QUICK, studied } from './honest-user'

studied((user) => !QUICK.includes(user))
