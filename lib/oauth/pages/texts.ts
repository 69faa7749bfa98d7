/** Every text on the pages. `{app}` stands for the app's name, `{user}` for the user's. */
export interface PageTexts {
  /** Language of the texts, for `<html lang>`. */
  readonly lang: string
  readonly loginTitle: string
  readonly loginLead: string
  readonly username: string
  readonly password: string
  readonly login: string
  readonly cancel: string
  readonly loginNote: string
  readonly wrongPassword: string
  readonly tooManyAttempts: string
  readonly tooManyLogins: string
  readonly pageExpired: string
  readonly cookiesNeeded: string
  readonly termsTitle: string
  readonly termsLead: string
  readonly termsAccept: string
  readonly termsDecline: string
  readonly signedInAs: string
  readonly continueTitle: string
  readonly continueLead: string
  readonly continue: string
  readonly logoutTitle: string
  readonly logoutLead: string
  readonly logout: string
  readonly loggedOutTitle: string
  readonly loggedOutLead: string
  readonly badRequestTitle: string
  readonly badRequestLead: string
  readonly unavailableTitle: string
  readonly unavailableLead: string
  readonly forbiddenTitle: string
  readonly forbiddenLead: string
  /** `{code}` stands for the error's code, `{id}` for the id that the logs have, too. */
  readonly errorReport: string
}

/** The default texts. */
export const ENGLISH: PageTexts = {
  lang: 'en',
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
  termsTitle: 'Terms of access',
  termsLead: 'Before you continue to {app}, please read and accept these terms.',
  termsAccept: 'Accept and continue',
  termsDecline: 'Decline',
  signedInAs: 'Signed in as {user}',
  continueTitle: 'You are signed in',
  continueLead: 'If you are not taken on to {app} by itself, go on by hand.',
  continue: 'Continue',
  logoutTitle: 'Sign out?',
  logoutLead: 'You will be signed out of this website on this device.',
  logout: 'Sign out',
  loggedOutTitle: 'You are signed out',
  loggedOutLead: 'You can close this window now.',
  badRequestTitle: 'This link does not work',
  badRequestLead:
    'The app that sent you here asked for something that we cannot answer. Nothing has happened to your account. ' +
    'Please go back to the app and try again, or tell the people who make it.',
  unavailableTitle: 'Please try again in a moment',
  unavailableLead: 'We cannot sign you in just now. This is our fault, and it should pass soon.',
  forbiddenTitle: 'This form was not sent from our page',
  forbiddenLead: 'For your safety nothing has been done. Please go back to the app and start again.',
  errorReport: 'If you report this, please say: {code}, {id}',
}
