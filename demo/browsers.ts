import type { CorsOptions } from 'cors'

/** CORS fields: headers that a page of another origin may send and read. A preflight is valid for a week. */
export const browsers: CorsOptions = {
  methods: ['OPTIONS', 'HEAD', 'GET', 'PUT', 'POST', 'DELETE'],
  allowedHeaders: [
    ...['Accept', 'Accept-Charset', 'Accept-Encoding', 'Accept-Language', 'Accept-Datetime', 'Authorization'],
    ...['Connection', 'Content-Length', 'Content-Md5', 'Content-Type', 'Content-Encoding', 'Date', 'Expect', 'From'],
    ...['Host', 'If-Match', 'If-Modified-Since', 'If-None-Match', 'If-Range', 'If-Unmodified-Since', 'Location'],
    ...['Origin', 'Range', 'Referer', 'SingularityJSHeader', 'Te', 'User-Agent', 'Warning', 'X-Expect-Override'],
    ...['X-Reason', 'X-Requested-With', 'X-CorrelationID', 'X-FS-Feature-Tag'],
  ],
  exposedHeaders: [
    ...['Location', 'Link', 'Warning', 'X-Entity-ID', 'Content-Location', 'X-Processing-Time', 'Retry-After'],
    ...['X-FS-Page-Context', 'Allow', 'ETag', 'WWW-Authenticate'],
    ...['X-Throttle-Window-Size', 'X-Throttle-Millis-Used', 'X-Throttle-Millis-Left'],
  ],
  maxAge: 604_800,
}
