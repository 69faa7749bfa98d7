// What spec/throttle and spec/chaos still import by this name.
export * from './serve'
