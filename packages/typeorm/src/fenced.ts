import { invalidArgument, type SectionOptions } from '@ticketing/core'
import { fenceNamed } from './named-fences.js'

/** What `@Fenced` takes: the key, and a section's options as far as the fence has no defaults for them. */
export interface FencedOptions<K extends readonly unknown[]> extends Partial<SectionOptions> {
  /** Makes the key, or a list of keys, from the method's first arguments. */
  readonly key: (...args: K) => string | readonly string[]
  /** The name of the fence, where it was registered under one. */
  readonly fence?: string | undefined
}

export type AsyncMethod = (...args: never[]) => Promise<unknown>

/** Satisfied where the method's parameters begin with those of the key function. */
export type StartsWith<A extends readonly unknown[], K extends readonly unknown[]> = A extends readonly [
  ...K,
  ...unknown[],
]
  ? unknown
  : { readonly 'the parameters of the method begin with those of its key function': never }

/** Decorates an asynchronous method whose first parameters are those of the key function. */
export interface FencedDecorator<K extends readonly unknown[]> {
  /** Standard decorators. */
  <M extends AsyncMethod>(
    method: M,
    context: Pick<ClassMethodDecoratorContext, 'kind' | 'name'> & StartsWith<Parameters<M>, K>,
  ): void
  /** Legacy decorators (`experimentalDecorators`). */
  <M extends AsyncMethod>(
    target: object,
    name: string | symbol,
    descriptor: TypedPropertyDescriptor<M> & StartsWith<Parameters<M>, K>,
  ): void
}

type Method = (this: unknown, ...args: unknown[]) => unknown

/**
 * Runs each call of the method as a critical section of the registered fence. Inside, `fencedManager()` and
 * `fencedRepository()` belong to the section's transaction.
 *
 * A call rejects as `fence.run` does, and with `FENCE_NOT_CONFIGURED` where no such fence is registered.
 *
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT` where it does not stand on a method, or has no key function.
 */
export function Fenced<K extends readonly unknown[]>(options: FencedOptions<K>): FencedDecorator<K> {
  if (typeof options?.key !== 'function') throw invalidArgument('@Fenced', 'needs a key function')
  const decorate = (target: unknown, context: unknown, descriptor?: TypedPropertyDescriptor<unknown>) => {
    if ((context as { kind?: unknown } | undefined)?.kind === 'method') return fenced(target as Method, options)
    if (typeof descriptor?.value !== 'function') throw invalidArgument('@Fenced', 'can only stand on a method')
    descriptor.value = fenced(descriptor.value as Method, options)
    return undefined
  }
  return decorate as FencedDecorator<K>
}

function fenced<K extends readonly unknown[]>(method: Method, { key, fence, ...section }: FencedOptions<K>): Method {
  const wrapper = {
    async method(this: unknown, ...args: unknown[]) {
      const keys = key(...(args as unknown as K))
      return await fenceNamed(fence).run(keys, section, () => method.apply(this, args))
    },
  }.method
  copyProperties(method, wrapper)
  copyMetadata(method, wrapper)
  return wrapper
}

/** Name, length, and whatever else a framework has set on the method. */
function copyProperties(from: Method, to: Method): void {
  // A function that is no method has these by its nature, and its wrapper must not.
  const natural = new Set<string | symbol>(['prototype', 'arguments', 'caller'])
  for (const name of Reflect.ownKeys(from)) {
    const descriptor = Reflect.getOwnPropertyDescriptor(from, name)
    if (descriptor !== undefined && !natural.has(name)) Object.defineProperty(to, name, descriptor)
  }
}

/** What of `reflect-metadata` is used, where the application has loaded it. */
interface ReflectMetadata {
  getOwnMetadataKeys?(target: object): unknown[]
  getOwnMetadata(key: unknown, target: object): unknown
  defineMetadata(key: unknown, value: unknown, target: object): void
}

function copyMetadata(from: Method, to: Method): void {
  const metadata = Reflect as unknown as ReflectMetadata
  for (const key of metadata.getOwnMetadataKeys?.(from) ?? []) {
    metadata.defineMetadata(key, metadata.getOwnMetadata(key, from), to)
  }
}
