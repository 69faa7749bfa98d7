/** The default texts. */
export const ENGLISH = {
  /** Language of the texts, for `<html lang>`. */
  lang: 'en',
  /** Direction of the texts, for `<html dir>`. Default: that of the language's own script. */
  dir: 'ltr' as 'ltr' | 'rtl',
  loginTitle: 'Sign in',
  loginLead: 'to continue to {app}',
  username: 'Username',
  password: 'Password',
  login: 'Sign in',
  cancel: 'Cancel',
  loginNote: 'Your password stays here. {app} never sees it.',
  wrongPassword: 'The username or password is wrong. Please check both and try again.',
  tooManyAttempts: 'Too many attempts to sign in. Please wait {minutes} min and try again.',
  tooManyLogins: 'Too many people are signing in at this moment. Please try again in a few seconds.',
  pageExpired: 'This page was open for too long. Please sign in again.',
  cookiesNeeded: 'Your browser did not send back our cookie. Please allow cookies for this site and sign in again.',
  /** Another user signed in while the page was open. */
  otherUser: 'Another user has signed in meanwhile. Please sign in again.',
  /** The form came from another site, or from this one under another name. */
  otherAddress: 'The form did not come from this address. Please sign in here.',
  /** The user chose to use another account. */
  otherAccount: 'Please sign in with the account that you want to use.',
  termsTitle: 'Terms of access',
  termsLead: 'Before you continue to {app}, please read and accept these terms.',
  termsAccept: 'Accept and continue',
  termsDecline: 'Decline',
  signedInAs: 'Signed in as {user}',
  approvalTitle: 'Allow {app}?',
  approvalLead: '{app} wants to use your account here.',
  approvalWhere: 'What you allow goes to {host}.',
  approvalWhereDevice: 'What you allow goes to a program on this device, at {host}.',
  approvalUnchecked:
    'This app registered itself, and nobody here has checked who makes it. Allow it only if you started it yourself just now.',
  /** `{source}` stands for the host of the app's metadata document. */
  approvalSource: 'It publishes its name at {source}.',
  approvalMay: 'It may:',
  /** What every approved app may do. */
  approvalAct: 'use this service in your name',
  /** What a scope lets the app do, by its name: `{ 'tree.read': 'read your family tree' }`. */
  scopes: {
    openid: 'know which account is yours',
    profile: 'see your name and your profile',
    email: 'see your email address',
    address: 'see your postal address',
    phone: 'see your phone number',
    givenName: 'see your given name',
    family_name: 'see your family name',
    locale: 'see your language and region',
    gender: 'see your gender',
    qualifies_for_affiliate_account: 'see whether you qualify for an affiliate account',
    user_id: 'see the number of your account',
    country: 'see your country',
    offline_access: 'do this also while you are not signed in',
  } as Readonly<Record<string, string>>,
  /** The text of a scope that `scopes` does not have; `{scope}` stands for its name. */
  approvalScope: 'use “{scope}”',
  approvalAccept: 'Allow',
  approvalDecline: 'Do not allow',
  useOther: 'Use another account',
  appsTitle: 'Apps that may act for you',
  appsLead: 'You allowed these apps to use your account here. An app loses its access as soon as you withdraw it.',
  appsNone: 'You have allowed no app to use your account here.',
  /** `{date}` stands for the day on which the user allowed the app first. */
  appsSince: 'since {date}',
  appsWithdraw: 'Withdraw access',
  leaveTitle: 'Go back to {app}?',
  leaveLead:
    'You have not allowed this app anything. It registered itself, and nobody here has checked who makes it. ' +
    'The link leads to {host}.',
  leaveGo: 'Go to {host}',
  continueTitle: 'You are signed in',
  continueLead: 'If you are not taken on to {app} by itself, go on by hand.',
  continue: 'Continue',
  logoutTitle: 'Sign out?',
  logoutLead:
    'You will be signed out of this website on this device. Apps that you signed in to meanwhile lose their access.',
  logout: 'Sign out',
  loggedOutTitle: 'You are signed out',
  loggedOutLead: 'You can close this window now.',
  /** After a sign-out whose app asked for an address that it has not registered. */
  noWayBackTitle: 'You are signed out',
  noWayBackLead:
    'The app that sent you here asked us to send you on to an address that it has not registered. So you stay here.',
  badRequestTitle: 'This link does not work',
  badRequestLead:
    'The app that sent you here asked for something that we cannot answer. Nothing has happened to your account. ' +
    'Please go back to the app and try again, or tell the people who make it.',
  startAgainTitle: 'Please start again from the app',
  startAgainLead:
    'This sign-in has expired, was used before, or began in another browser. Nothing has happened to your account.',
  /** Too many sign-ins have been started at once. */
  tooManyTitle: 'Too many people are signing in',
  tooManyLead: 'We cannot take another sign-in at this moment. Please wait a minute, and try again.',
  unavailableTitle: 'Please try again in a moment',
  unavailableLead: 'We cannot sign you in just now. This is our fault, and it should pass soon.',
  forbiddenTitle: 'This form was not sent from our page',
  forbiddenLead: 'For your safety nothing has been done. Please go back to the app and start again.',
  /** `{code}` stands for the error's code, `{id}` for the id that the logs have, too. */
  errorReport: 'If you report this, please say: {code}, {id}',
}

/**
 * Every text on the pages. `{app}` stands for the app's name, `{host}` for the host it is at, `{user}` for the user's name.
 * `loginNote` may have links, `<a href="/reset">Reset it</a>`; other markup is shown as it is written.
 */
export type PageTexts = Readonly<typeof ENGLISH>
