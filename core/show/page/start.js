// Before anything is laid out: the rows of a long table wait for the script.
document.documentElement.dataset.script = 'starts';
