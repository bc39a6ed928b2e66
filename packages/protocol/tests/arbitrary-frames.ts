import fc from 'fast-check'
import { type ClientFrame, errorReasons, type ServerFrame } from '../src/index.js'

/** Newlines and the extremes come often: they are where a parser goes wrong. */
const byte = fc.oneof(
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 255 }) },
  { weight: 1, arbitrary: fc.constantFrom(0x00, 0x0a, 0x41, 0xff) },
)
export const owner = fc.array(byte, { minLength: 16, maxLength: 16 }).map((bytes) => String.fromCharCode(...bytes))
export const token = fc.oneof(
  fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }),
  fc.constantFrom(1n, 0x0an, 0x0a0a0a0a0a0a0a0an, 2n ** 63n - 1n),
)
export const key = fc.oneof(
  fc
    .string({ unit: 'binary', minLength: 1, maxLength: 128 })
    .filter((text) => Buffer.byteLength(text) <= 128 && [...text].every((sign) => sign > ' ' && sign !== '\u007f')),
  fc.string({ unit: fc.constantFrom('a', ':', '~'), minLength: 1, maxLength: 128 }),
)
const host = fc.oneof(
  fc.stringMatching(/^[a-z0-9][a-z0-9.-]{0,252}$/),
  fc.constantFrom('[::1]', '[fe80::1%eth0]', '10.0.0.1'),
)
export const address = fc.tuple(host, fc.integer({ min: 0, max: 65_535 })).map(([name, port]) => `${name}:${port}`)
const reason = fc.oneof(fc.constantFrom(...errorReasons), fc.stringMatching(/^[a-z0-9_]{1,32}$/))

export const clientFrame: fc.Arbitrary<ClientFrame> = fc.oneof(
  fc.record({
    type: fc.constant('acquire' as const),
    waitSeconds: fc.integer({ min: 0, max: 255 }),
    leaseSeconds: fc.integer({ min: 1, max: 250 }),
    owner,
    key,
  }),
  fc.record({ type: fc.constant('release' as const), token, key }),
  fc.constant({ type: 'ping' as const }),
)

export const serverFrame: fc.Arbitrary<ServerFrame> = fc.oneof(
  fc.record({ type: fc.constant('granted' as const), token, owner, key }),
  fc.record({ type: fc.constantFrom('not-in-time' as const, 'busy' as const), owner, key }),
  fc.record({ type: fc.constantFrom('released' as const, 'not-current' as const), token, key }),
  fc.record({ type: fc.constant('moved' as const), address }),
  fc.record({
    type: fc.constant('leader' as const),
    leads: fc.boolean(),
    address: fc.oneof(address, fc.constant(undefined)),
  }),
  fc.record({ type: fc.constant('error' as const), reason }),
  fc.constant({ type: 'pong' as const }),
)
