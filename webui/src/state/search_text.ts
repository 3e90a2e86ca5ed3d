// The text of the search box, which other views may fill in.

import { create } from 'zustand';

export const useSearchText = create<{ text: string }>(() => ({ text: '' }));

export const setSearchText = (text: string) => useSearchText.setState({ text });

// Searches for the nodes with a line of code in their stack. `file` is an absolute path.
export function searchLine(file: string, line: string): void {
  const parts = file.split('/');
  setSearchText(`source:${parts.slice(-2).join('/')}:${line}`);
}
