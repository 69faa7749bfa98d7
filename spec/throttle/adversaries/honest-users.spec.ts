import { QUICK, studied } from './honest-user'

studied((user) => QUICK.includes(user))
