"""A headless Chromium through chromedriver's HTTP interface, with the standard library alone."""
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'
ARGUMENTS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
             '--disable-background-networking', '--disable-component-update', '--disable-sync',
             '--disable-dev-shm-usage', '--window-size=1280,900']


def free_port():
    with socket.socket() as held:
        held.bind(('127.0.0.1', 0))
        return held.getsockname()[1]


class Browser:
    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix='orch-page-')
        port = free_port()
        self.base = f'http://127.0.0.1:{port}'
        # A group of its own: whatever chromedriver starts can be ended with it.
        self.driver = subprocess.Popen(['chromedriver', f'--port={port}'], start_new_session=True,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.session = ''
        try:
            self.begin()
        except BaseException:
            self.close()
            raise

    def begin(self):
        self.wait_for_driver()
        options = {'args': [*ARGUMENTS, f'--user-data-dir={self.profile}'],
                   'perfLoggingPrefs': {'enableNetwork': True, 'enablePage': False}}
        wanted = {'browserName': 'chrome', 'goog:chromeOptions': options,
                  'goog:loggingPrefs': {'browser': 'ALL', 'performance': 'ALL'}}
        made = self.call('POST', '/session', {'capabilities': {'alwaysMatch': wanted}})
        self.session = f'/session/{made["sessionId"]}'
        self.open('about:blank')

    def wait_for_driver(self):
        for _ in range(200):
            try:
                if self.call('GET', '/status')['ready']:
                    return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError('chromedriver does not answer')

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, method=method,
                                         headers={'Content-Type': 'application/json'})
        # No proxy: it is this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as answer:
                return json.load(answer)['value']
        except urllib.error.HTTPError as error:
            value = json.load(error)['value']
            raise RuntimeError(f'{value["error"]}: {value["message"][:300]}') from None

    def open(self, url):
        self.call('POST', self.session + '/url', {'url': url})

    def run(self, script, *arguments):
        return self.call('POST', self.session + '/execute/sync',
                         {'script': script, 'args': list(arguments)})

    def cdp(self, command, **parameters):
        return self.call('POST', self.session + '/goog/cdp/execute',
                         {'cmd': command, 'params': parameters})

    def element(self, css):
        wanted = {'using': 'css selector', 'value': css}
        return self.call('POST', self.session + '/element', wanted)[ELEMENT]

    def click(self, css):
        self.call('POST', f'{self.session}/element/{self.element(css)}/click', {})

    def type(self, css, text):
        self.call('POST', f'{self.session}/element/{self.element(css)}/value', {'text': text})

    def log(self, kind):
        return self.call('POST', self.session + '/se/log', {'type': kind})

    def has_dialog(self):
        try:
            self.call('GET', self.session + '/alert/text')
            return True
        except RuntimeError as error:
            return 'no such alert' not in str(error)

    def close(self):
        try:
            if self.session:
                self.call('DELETE', self.session)
        except (OSError, RuntimeError):
            pass
        try:
            os.killpg(self.driver.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.driver.wait()
        shutil.rmtree(self.profile, ignore_errors=True)
