// Signing in: a page of its own at first, and a dialog above the page when the session ends.

import { useEffect, useRef } from 'react';
import { sessionEndedTitle } from '../words/sign_in';
import { Brand } from './brand';
import { SignInForm } from './sign_in_form';
import './login_view.css';

export function LoginView() {
  return (
    <main className="login">
      <div className="login-card">
        <h1>
          <Brand />
        </h1>
        <SignInForm />
      </div>
    </main>
  );
}

// Stays until the user has signed in. The page behind it keeps its state.
export function SessionEnded() {
  const dialog = useRef<HTMLDialogElement>(null);
  const show = () => {
    const element = dialog.current;
    if (element?.isConnected === true && !element.open) element.showModal();
  };
  useEffect(() => {
    const element = dialog.current;
    show();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className="login-dialog"
      aria-label={sessionEndedTitle}
      onCancel={(event) => event.preventDefault()}
      // The browser closes it at the second Escape all the same.
      onClose={show}
    >
      <SignInForm />
    </dialog>
  );
}
