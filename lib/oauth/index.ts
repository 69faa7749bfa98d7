export { authorizationServer, type AuthorizationServer } from './authorization-server'
export type {
  AccessTokenClaimsFunction,
  AccessTokenOptions,
  AuthorizationServerOptions,
  DpopProofOptions,
  RefreshTokenOptions,
  RegistrationGrant,
  RegistrationOptions,
  SignInPageOptions,
  WebsiteSessionOptions,
} from './server-options'
export type {
  OAuthLoginMessage,
  OAuthRefusedMessage,
  OAuthRevokedMessage,
  OAuthTokenIssuedMessage,
} from './diagnostics'
export type { SignIn, SignInInteraction, SignInRefusal } from './endpoints/own-page'
export type { ApprovedApp } from './records/consents'
export type { ClientMetadata } from './parameters/client-metadata'
export type { OnError } from './endpoints/endpoint'
export type { Revocable } from './records/revocation-records'
export { clientDirectory, type ClientDirectoryOptions, type ClientRegistration } from './directories/client-directory'
export { userDirectory, type UserDirectoryOptions, type UserRegistration } from './directories/user-directory'
export { DirectoryBusyError } from './directories/hash-slots'
export { hashPassword, verifyPassword } from './directories/password'
export { redisOAuthStore, type RedisOAuthStoreOptions } from './stores/redis-store'
export { memoryOAuthStore, type MemoryOAuthStoreOptions } from './stores/memory-store'
export type { RedisClient } from '../redis/redis-client'
export type { ClosableOAuthStore, OAuthStoreClaim, OAuthStoreCount, OAuthStore } from './stores/store'
export type { Client, ClientDirectory, ClientRow, GrantName } from './directories/client'
export type { ClaimValue, LoginRefusal, User, UserClaims, UserDirectory, UserId, UserRow } from './directories/user'
export type { SigningKey } from './keys/keyring'
export type { PublicKeyInput, SigningKeyInput } from './keys/signing-algorithm'
export type { PageLink, PageOptions, TermsOfAccess } from './pages/page-options'
export type { PageTexts } from './pages/texts'
export type { LoginLimits } from './records/login-attempts'
export type { WebsiteSession } from './records/website-sessions'
export type { AccessTokenClaims } from './tokens/access-tokens'
