export { type Address, formatAddress, parseAddress } from './address.js'
export {
  type AcquireFrame,
  type BusyFrame,
  type ClientFrame,
  type ErrorFrame,
  type ErrorReason,
  errorReasons,
  type Frame,
  type GrantedFrame,
  type LeaderFrame,
  type MovedFrame,
  type NotCurrentFrame,
  type NotInTimeFrame,
  type PingFrame,
  type PongFrame,
  type ReleasedFrame,
  type ReleaseFrame,
  type ServerFrame,
} from './frame.js'
export { encodeFrame, FrameEncoder } from './frame-encoder.js'
export { FrameParser, type FrameSink } from './frame-parser.js'
export {
  digestMatches,
  encodeDigest,
  encodeGreeting,
  type Greeting,
  HandshakeLine,
  handshakeDigest,
  parseDigest,
  parseGreeting,
} from './handshake.js'
export { compareKeys, keyFault } from './key.js'
export {
  addressBytesMax,
  clientFrameBytesMax,
  errorReasonBytesMax,
  frameBytesMax,
  handshakeLineBytesMax,
  handshakeSecondsMax,
  keyBytesMax,
  keyBytesMin,
  leaseSecondsMax,
  leaseSecondsMin,
  nonceBytes,
  ownerBytes,
  tokenMax,
  tokenMin,
  waitSecondsMax,
  waitSecondsMin,
} from './limits.js'
export { WireError, type WireErrorCode } from './wire-error.js'
