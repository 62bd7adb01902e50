"""Synthetic speech in the form of microphone audio: PCM16 at 16 kHz."""

import array
import functools
import math
import subprocess
import tempfile

from .live import INPUT_RATE

_RAW = ["-t", "raw", "-r", str(INPUT_RATE), "-e", "signed", "-b", "16", "-c", "1"]


def _run(*command):
    return subprocess.run(command, check=True, capture_output=True).stdout


@functools.cache
def spoken(text, voice="en", noise=0.0):
    """`noise`: loudness of the background noise; 1.0 is the maximum."""
    with tempfile.TemporaryDirectory(prefix="agent-graph-") as folder:
        words, room = f"{folder}/words.wav", f"{folder}/room.wav"
        _run("espeak-ng", "-v", voice, "-w", words, text)
        if not noise:
            return _run("sox", "-R", words, *_RAW, "-")
        length = _run("soxi", "-D", words).decode().strip()
        synthesis = ["synth", length, "pinknoise", "vol", str(noise)]
        _run("sox", "-R", "-n", "-r", "22050", "-b", "16", room, *synthesis)
        return _run("sox", "-R", "-m", "-v", "1", words, "-v", "1", room, *_RAW, "-")


def seconds(pcm, rate=INPUT_RATE):
    return len(pcm) / 2 / rate


def loudness(pcm):
    samples = array.array("h", pcm)
    return math.sqrt(sum(sample * sample for sample in samples) / len(samples))
