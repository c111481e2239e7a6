import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type SubmitEvent, useState } from "react";
import { api, queryClient } from "../api/client.ts";
import { errorFieldOf, errorTextOf } from "../api/errors.ts";
import { Button } from "../components/Button.tsx";
import { Field } from "../components/Field.tsx";
import { Notice } from "../components/Notice.tsx";
import { Welcome } from "../components/Welcome.tsx";

export function SignIn() {
  const navigate = useNavigate();
  const { to } = useSearch({ from: "/sign-in" });
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const info = useQuery(api.service.info.queryOptions());
  const signIn = useMutation(
    api.auth.signIn.mutationOptions({
      onSuccess: async (me) => {
        queryClient.setQueryData(api.auth.me.queryKey(), me);
        await navigate({ to: to ?? "/" });
      },
    }),
  );

  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    signIn.mutate({ email, password });
  };
  const field = errorFieldOf(signIn.error);

  return (
    <Welcome title="Sign in">
      <form onSubmit={submit} className="form">
        {signIn.error !== null && field === null ? (
          <Notice tone="error">{errorTextOf(signIn.error)}</Notice>
        ) : null}
        <Field
          label="E-mail"
          type="email"
          autoComplete="username"
          required
          value={email}
          error={field === "email" ? errorTextOf(signIn.error) : undefined}
          onChange={(event) => setEmail(event.target.value)}
        />
        <Field
          label="Password"
          type="password"
          autoComplete="current-password"
          required
          value={password}
          error={field === "password" ? errorTextOf(signIn.error) : undefined}
          onChange={(event) => setPassword(event.target.value)}
        />
        <Button type="submit" look="primary" busy={signIn.isPending}>
          Sign in
        </Button>
      </form>
      {info.data?.signUp === "open" ? (
        <p className="aside">
          New here? <Link to="/sign-up">Create an account</Link>
        </p>
      ) : null}
    </Welcome>
  );
}
