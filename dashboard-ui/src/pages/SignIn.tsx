import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type SubmitEvent, useState } from "react";
import { api, queryClient } from "../api/client.ts";
import { errorTextAt, errorTextBeside } from "../api/errors.ts";
import { Button } from "../components/Button.tsx";
import { Field } from "../components/Field.tsx";
import formStyles from "../components/form.module.css";
import { Notice } from "../components/Notice.tsx";
import { PasswordField } from "../components/PasswordField.tsx";
import welcomeStyles from "../components/Welcome.module.css";
import { Welcome } from "../components/Welcome.tsx";

export function SignIn() {
  const navigate = useNavigate();
  const { to } = useSearch({ from: "/sign-in" });
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const info = useQuery(api.service.info.queryOptions());
  const { mutate, error, isPending } = useMutation(
    api.auth.signIn.mutationOptions({
      onSuccess: async (me) => {
        queryClient.setQueryData(api.auth.me.queryKey(), me);
        await navigate({ to: to ?? "/" });
      },
    }),
  );

  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    mutate({ email, password });
  };
  const formError = errorTextBeside(error, ["email", "password"]);

  return (
    <Welcome title="Sign in">
      <form onSubmit={submit} className={formStyles.form}>
        {formError === null ? null : <Notice tone="error">{formError}</Notice>}
        <Field
          label="E-mail"
          type="email"
          autoComplete="username"
          autoFocus
          required
          value={email}
          error={errorTextAt(error, "email")}
          onChange={(event) => setEmail(event.target.value)}
        />
        <PasswordField
          label="Password"
          autoComplete="current-password"
          required
          value={password}
          error={errorTextAt(error, "password")}
          onChange={(event) => setPassword(event.target.value)}
        />
        <Button type="submit" look="primary" busy={isPending}>
          Sign in
        </Button>
      </form>
      <p className={welcomeStyles.aside}>Forgot your password? The operator of this service can reset it.</p>
      {info.data?.signUp === "open" ? (
        <p className={welcomeStyles.aside}>
          New here? <Link to="/sign-up">Create an account</Link>
        </p>
      ) : null}
    </Welcome>
  );
}
