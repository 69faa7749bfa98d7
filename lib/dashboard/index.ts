export { throttleDashboard, type DashboardOptions, type ThrottleDashboard } from './throttle-dashboard'
