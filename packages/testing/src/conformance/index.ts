export { fenceConformance } from './conformance.js'
export {
  type AnyFence,
  anyFence,
  type Caller,
  type Capability,
  type ConformanceSubject,
  type Handle,
  type OpenSubject,
  type SubjectOptions,
} from './subject.js'
