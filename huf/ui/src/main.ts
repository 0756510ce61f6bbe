import { VueQueryPlugin } from "@tanstack/vue-query";
import { createApp } from "vue";
import App from "./App.vue";
import { loadLocale } from "./i18n/index.ts";
import { router } from "./router.ts";
import { queryClient } from "./state/queries.ts";
import { boot } from "./state/session.ts";
import "./styles.css";

loadLocale([boot.lang, ...navigator.languages]).then(() => createApp(App).use(VueQueryPlugin, { queryClient }).use(router).mount("#app"));
