// Texts of what opens the form that changes the paused job; those of the form are in change.ts.

export const change = 'Change';
export const changeJob = 'Change the paused job';
export const changeHint = 'Set values of a tensor or a learning rate, skip the next step, or take the last one back';
export const changeValues = 'Change values…';
export const pauseFirst = 'Pause the job first.';
