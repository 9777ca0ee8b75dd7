// Runs before the first layout: the style hides the rows of the table until the script is ready.
document.documentElement.dataset.script = 'starts';
