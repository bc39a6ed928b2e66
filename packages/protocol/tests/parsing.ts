import { clientFrameBytesMax, type Frame, FrameParser, frameBytesMax } from '../src/index.js'

export type Direction = 'client' | 'server'

export function parserFor(from: Direction): FrameParser<Frame> {
  return from === 'client' ? FrameParser.forClientFrames() : FrameParser.forServerFrames()
}

/** The most that a parser may hold of one frame. */
export function heldBytesMax(from: Direction): number {
  return from === 'client' ? clientFrameBytesMax : frameBytesMax
}

/** Parses chunks in turn; what the parser throws reaches the caller. */
export function parseChunks(from: Direction, chunks: Iterable<Uint8Array>): Frame[] {
  const parser = parserFor(from)
  const frames: Frame[] = []
  for (const chunk of chunks) parser.push(chunk, (frame) => frames.push(frame))
  return frames
}

/** Cuts bytes at the given offsets. */
export function cutAt(bytes: Buffer, offsets: readonly number[]): Buffer[] {
  const inside = offsets.map((offset) => offset % (bytes.length + 1)).sort((a, b) => a - b)
  const edges = [0, ...inside, bytes.length]
  return edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge))
}

export function byteByByte(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (_, index) => bytes.subarray(index, index + 1))
}
