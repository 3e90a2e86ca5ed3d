// Text for an error that a request ended with.

import { Problem, UNREACHABLE } from '../api/problem';
import { serverUnreachable } from '../words/common';

export function describe(error: unknown): string {
  if (error instanceof Problem && error.code === UNREACHABLE) return serverUnreachable;
  return error instanceof Error ? error.message : String(error);
}
