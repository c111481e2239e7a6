import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const SERVICE = "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
  build: {
    // A data: URL would need an exception in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    emptyOutDir: true,
  },
  server: { proxy: { "/trpc": SERVICE, "/v1": SERVICE } },
});
