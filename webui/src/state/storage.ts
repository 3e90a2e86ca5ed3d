// Whether the server can store what happens, as it reports it.

import { create } from 'zustand';
import type { Storage } from '../api/types';

// Null until it is known.
export const useStorage = create<{ storage: Storage | null }>(() => ({ storage: null }));

export function setStorage(storage: Storage | null | undefined): void {
  if (storage !== null && storage !== undefined) useStorage.setState({ storage });
}
