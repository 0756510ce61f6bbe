/** The app's main sections as the sidebar lists them. While there is one only, the sidebar shows no list at all. */
export const SECTIONS = [{ name: "chat", icon: "chat", label: "section.chat" }];
