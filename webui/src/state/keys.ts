// All keys, for the help.

export interface KeyHelp {
  keys: string[];
  text: string;
}

export interface KeyGroup {
  title: string;
  keys: KeyHelp[];
}

export const KEY_GROUPS: KeyGroup[] = [
  {
    title: 'Run',
    keys: [
      { keys: ['F8', 'F5'], text: 'Continue' },
      { keys: ['F6'], text: 'Pause' },
      { keys: ['F10'], text: 'Step' },
      { keys: ['F11'], text: 'Next node' },
      { keys: ['Shift+F5'], text: 'Terminate' },
    ],
  },
  {
    title: 'Go',
    keys: [
      { keys: ['Ctrl+K', 'Ctrl+Shift+P'], text: 'Commands and nodes' },
      { keys: ['/', 'Ctrl+F'], text: 'Search nodes' },
      { keys: ['N', 'Shift+N'], text: 'Next or previous hit' },
      { keys: ['.', ','], text: 'Next or previous node in execution' },
      { keys: ['[', ']'], text: 'To what made it, to what uses it' },
      { keys: ['?'], text: 'All keys' },
    ],
  },
  {
    title: 'Graph',
    keys: [
      { keys: ['Enter'], text: 'Open or close the selected scope' },
      { keys: ['A'], text: 'What is around the selected node' },
      { keys: ['F'], text: 'Focus the selection; again: fill the view' },
      { keys: ['G'], text: 'To where the job stands' },
      { keys: ['Space'], text: 'Show the whole graph' },
      { keys: ['+', '−', '0'], text: 'Zoom in, out, to 100 %' },
      { keys: ['Shift+F10'], text: 'Menu of the node' },
    ],
  },
  {
    title: 'Tree',
    keys: [
      { keys: ['↑', '↓'], text: 'From row to row' },
      { keys: ['→', '←'], text: 'Open, close; to the first child, to the scope' },
      { keys: ['a … z'], text: 'To the next row that begins so' },
      { keys: ['Space'], text: 'Tick, while a watchpoint is made' },
    ],
  },
  {
    title: 'Search',
    keys: [
      { keys: ['conv wei'], text: 'Parts of a name, or of an op type' },
      { keys: ['train.py:12'], text: 'Nodes of a source line' },
      { keys: ['type:mm', 'kind:parameter'], text: 'By op type, by kind' },
      { keys: ['category:gradient'], text: 'By category' },
      { keys: ['/fc[12]$/'], text: 'A regular expression' },
    ],
  },
  {
    title: 'Tensor',
    keys: [
      { keys: ['←', '→', '↑', '↓'], text: 'From value to value' },
      { keys: ['PgUp', 'PgDn', 'Home', 'End'], text: 'By page, to the ends of a row' },
      { keys: ['Ctrl+wheel'], text: 'Zoom the heat map' },
      { keys: ['Enter'], text: 'Apply the slice that was typed' },
    ],
  },
];
