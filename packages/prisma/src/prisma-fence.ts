import { Prisma } from '@prisma/client/extension'
import {
  createFence,
  type Fence,
  type FenceOptions,
  FenceReporter,
  invalidArgument,
  type SectionDefaults,
  type SectionOptionsFor,
  type SectionWork,
} from '@ticketing/core'
import { checkPrepare, type PreparedClaimOptions } from '@ticketing/core/pg-driver'
import { outsideWarning } from './outside-warning.js'
import { type PrismaClientLike, type PrismaTransactionClient, rootOf, transactionId } from './prisma-client.js'
import { PrismaHost } from './prisma-host.js'
import type { SectionClient } from './section-client.js'
import type { OpenSessions } from './transaction-call.js'

/** A fence on a Prisma client, extensions included. */
export type PrismaFence<Client, Defaults extends SectionDefaults = SectionDefaults> = Fence<
  SectionClient<Client>,
  Defaults,
  PrismaTransactionClient
>

/** `prepare` matters with `fenceAdapter` alone; without it Prisma sends the claim. */
export type PrismaFenceOptions<Defaults extends SectionDefaults = SectionDefaults> = FenceOptions<Defaults> &
  PreparedClaimOptions

/** What the extension adds to a client. */
export type PrismaFenceMethods<Defaults extends SectionDefaults> = {
  /** Runs one critical section; the same as `$fence().run`. See `Fence.run` for what it returns and throws. */
  $fenced<Client, R>(
    this: Client,
    keys: string | readonly string[],
    options: SectionOptionsFor<Defaults>,
    work: SectionWork<SectionClient<Client>, R>,
  ): Promise<Awaited<R>>
  /** The same with the fence's defaults alone. */
  $fenced<Client, R>(
    this: Client,
    keys: string | readonly string[],
    work: {} extends SectionOptionsFor<Defaults> ? SectionWork<SectionClient<Client>, R> : never,
  ): Promise<Awaited<R>>
  /** The fence of this client: `run`, `runWith`, `claim`, `migrate`, `on`. */
  $fence<Client>(this: Client): PrismaFence<Client, Defaults>
}

/**
 * Makes the extension that fences sections of a Prisma client on PostgreSQL: `prisma.$extends(prismaFence({ broker }))`.
 * Nothing is sent until the first section. Give the client its driver adapter through `fenceAdapter`.
 *
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT`.
 */
export function prismaFence<const Defaults extends SectionDefaults = {}>(options: PrismaFenceOptions<Defaults>) {
  const prepare = checkPrepare(options)
  const sessions: OpenSessions = new Map()
  const reporter = new FenceReporter(options?.logger)
  const fenceOf = (client: PrismaClientLike) =>
    createFence<PrismaTransactionClient, Defaults>(new PrismaHost(client, sessions, { prepare }), options, {
      reporter,
      optionNames: ['prepare'],
    })
  // Bad options are told now, not at the first section.
  fenceOf({} as PrismaClientLike)
  const fences = new WeakMap<object, ReturnType<typeof fenceOf>>()
  const fenceFor = (client: object) => {
    if (transactionId(client) !== undefined) {
      throw invalidArgument(
        'client',
        'is that of an interactive transaction; a section opens its own, so call $fenced and $fence of the client itself',
      )
    }
    const present = fences.get(client) ?? fenceOf(client as PrismaClientLike)
    fences.set(client, present)
    return present
  }
  const methods = {
    $fence(this: object) {
      return fenceFor(this)
    },
    async $fenced(this: object, ...args: Parameters<ReturnType<typeof fenceOf>['run']>) {
      return await fenceFor(this).run(...args)
    },
  } as unknown as PrismaFenceMethods<Defaults>

  return Prisma.defineExtension((client) => {
    const warnOutside = outsideWarning(rootOf(client), options.logger)
    return client.$extends({
      name: '@ticketing/prisma',
      client: methods,
      query: {
        async $allOperations(call) {
          const { args, query, model, operation } = call
          const session = sessions.get(transactionOf(call))
          if (session === undefined) {
            warnOutside(model, operation)
            return await query(args)
          }
          return await session.run(Array.isArray(args) ? args[0] : undefined, () => query(args))
        },
      },
    })
  })
}

/** Prisma's name of the transaction that an operation runs in. Not documented: without it the guards behind still hold. */
function transactionOf(call: object): unknown {
  const { __internalParams } = call as { __internalParams?: { transaction?: { id?: unknown } } }
  return __internalParams?.transaction?.id
}
