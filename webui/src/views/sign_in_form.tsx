// The form for a token or an address, with the reason why it is needed.

import { useId, useState } from 'react';
import { logIn, useAuth, type SignInReason } from '../state/auth';
import { Button } from '../widgets/button';
import * as words from '../words/sign_in';

const TITLES: Record<SignInReason, string> = {
  first: words.signInTitle,
  code_refused: words.codeRefusedTitle,
  session_ended: words.sessionEndedTitle,
};

const EXPLANATIONS: Record<SignInReason, string | null> = {
  first: null,
  code_refused: words.codeRefused,
  session_ended: words.sessionEnded,
};

export function SignInForm() {
  const { message, reason } = useAuth();
  const [text, setText] = useState('');
  const [busy, setBusy] = useState(false);
  const id = useId();
  const submit = async () => {
    setBusy(true);
    await logIn(text.trim());
    setBusy(false);
  };
  return (
    <form
      className="login-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== '') void submit();
      }}
    >
      <h2>{TITLES[reason]}</h2>
      {EXPLANATIONS[reason] !== null && <p>{EXPLANATIONS[reason]}</p>}
      <p>
        {words.getAddress} <code>{words.urlCommand}</code>
      </p>
      <label htmlFor={id}>{words.tokenOrUrl}</label>
      <input
        id={id}
        className="field mono"
        type="password"
        autoComplete="current-password"
        spellCheck={false}
        autoFocus
        value={text}
        aria-describedby={`${id}-message`}
        onChange={(event) => setText(event.target.value)}
      />
      <p id={`${id}-message`} className="login-message" role="alert">
        {message}
      </p>
      <Button
        label={words.signIn}
        tone="primary"
        submit
        pending={busy}
        disabledReason={text.trim() === '' ? words.enterToken : ''}
        onClick={() => {}}
      />
    </form>
  );
}
