// Shows the title of an element without delay when the mouse is over it, it is touched, or it has
// the focus.

class Hints {
  constructor() {
    this.tip = element('p', {class: 'tip hint', role: 'status', hidden: ''});
    document.body.append(this.tip);
    document.addEventListener('pointerover', (event) => this.enter(event.target));
    document.addEventListener('pointerdown', (event) => this.enter(event.target));
    document.addEventListener('focusin', (event) => this.enter(event.target));
    document.addEventListener('focusout', () => this.leave());
    // The browser may scroll to an element that gets the focus.
    document.addEventListener('scroll', () => this.place(), {capture: true, passive: true});
    document.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.leave();
    });
  }

  // Removes the title while the hint is shown, or the browser would show it a second time.
  enter(target) {
    const found = target.closest('[title]');
    if (!found && this.at && this.at.contains(target)) return;
    this.leave();
    if (!found) return;
    this.at = found;
    found.dataset.hint = found.title;
    found.removeAttribute('title');
    this.tip.replaceChildren(found.dataset.hint);
    this.tip.hidden = false;
    this.place();
  }

  place() {
    if (!this.at) return;
    const box = this.at.getBoundingClientRect();
    this.tip.style.left = '0';  // the previous position would limit its width
    const room = document.documentElement.clientWidth - this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(room, box.left)) + scrollX}px`;
    this.tip.style.top = `${box.bottom + 4 + scrollY}px`;
  }

  leave() {
    if (this.at) {
      this.at.title = this.at.dataset.hint;
      delete this.at.dataset.hint;
    }
    this.at = null;
    this.tip.hidden = true;
  }
}
