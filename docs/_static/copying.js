// The copy buttons in Traditional Chinese, which sphinx-copybutton lacks. Its script stands before this one, and makes the
// buttons when the page has loaded, of the words that it has then.
"use strict";

if (document.documentElement.lang === "zh-TW" && typeof messages === "object") {
  messages["zh-TW"] = {
    copy: "複製",
    copy_to_clipboard: "複製到剪貼簿",
    copy_success: "已複製",
    copy_failure: "無法複製",
  };
  locale = "zh-TW";
  iconCopy = iconCopy.replace(messages.en.copy_to_clipboard, messages[locale].copy_to_clipboard);
  iconCheck = iconCheck.replace(messages.en.copy_success, messages[locale].copy_success);
}
