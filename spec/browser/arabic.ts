import type { PageTexts } from '../../lib/oauth'

/** Texts of the pages that a user signs in by, written from right to left. */
export const ARABIC: Partial<PageTexts> = {
  lang: 'ar',
  loginTitle: 'تسجيل الدخول',
  loginLead: 'للمتابعة إلى {app}',
  username: 'اسم المستخدم',
  password: 'كلمة المرور',
  login: 'دخول',
  cancel: 'إلغاء',
  loginNote: 'تبقى كلمة مرورك هنا. لا يراها {app} أبدًا.',
  termsTitle: 'شروط الاستخدام',
  termsLead: 'قبل المتابعة إلى {app}، اقرأ هذه الشروط واقبلها.',
  termsAccept: 'أقبل وأتابع',
  termsDecline: 'أرفض',
  signedInAs: 'سجّلت الدخول باسم {user}',
  approvalTitle: 'هل تسمح لـ {app}؟',
  approvalLead: 'يريد {app} استخدام حسابك هنا.',
  approvalWhere: 'ما تسمح به يذهب إلى {host}.',
  approvalWhereDevice: 'ما تسمح به يذهب إلى برنامج على هذا الجهاز، في {host}.',
  approvalUnchecked: 'سجّل هذا التطبيق نفسه ولم يتحقق أحد هنا من صاحبه. لا تسمح له إلا إذا بدأته بنفسك الآن.',
  approvalMay: 'يمكنه:',
  approvalAct: 'استخدام هذه الخدمة باسمك',
  scopes: { openid: 'معرفة أي حساب هو حسابك', email: 'رؤية عنوان بريدك' },
  approvalScope: 'استخدام «{scope}»',
  approvalAccept: 'أسمح',
  approvalDecline: 'لا أسمح',
}
