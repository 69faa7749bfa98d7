// OpenID's certification plans, ported by hand: a spec for each module, named after it. One process runs them all.
import './basic-op'
import './config-op'
import './rp-initiated-logout'
import './fapi2'
