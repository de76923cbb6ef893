"""Reads a line of text with PP-OCRv6: what an application does before and after `mcc run`.

    ocr.py render TEXT IMAGE.png        draws a line of text
    ocr.py prepare IMAGE.png IN.npz     scales and normalises the image as the model expects
    ocr.py decode MODEL.onnx OUT.npz    prints the text in the model's output
"""

import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFont

HEIGHT = 48  # the model's input is 48 pixels high and of any width
FONTS = ("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "DejaVuSans.ttf")


def load_font(size):
    for path in FONTS:
        try:
            return ImageFont.truetype(path, size)
        except OSError:
            continue
    return ImageFont.load_default(size)


def render(text, path):
    font = load_font(40)
    left, top, right, bottom = font.getbbox(text)
    image = Image.new("RGB", (right - left + 24, bottom - top + 20), "white")
    ImageDraw.Draw(image).text((12 - left, 10 - top), text, fill="black", font=font)
    image.save(path)


def prepare(image_path, npz_path):
    """[1, 3, 48, width] in BGR order, each value (x / 255 - 0.5) / 0.5."""
    image = Image.open(image_path).convert("RGB")
    width = max(1, round(image.width * HEIGHT / image.height))
    pixels = np.asarray(image.resize((width, HEIGHT), Image.Resampling.BILINEAR), np.float32)
    pixels = (pixels[:, :, ::-1] / 255 - 0.5) / 0.5
    np.savez(npz_path, x=np.ascontiguousarray(pixels.transpose(2, 0, 1)[None], np.float32))


def characters(model_path):
    """The classes: blank, the characters that the model's metadata lists, space."""
    import onnx

    model = onnx.load(model_path, load_external_data=False)
    table = next(prop.value for prop in model.metadata_props if prop.key == "character")
    return ["", *table.splitlines(), " "]


def decode(model_path, npz_path):
    """Greedy CTC: the best class of each step, repeats merged, blanks dropped."""
    with np.load(npz_path) as outputs:
        scores = outputs[outputs.files[0]][0]
    table = characters(model_path)
    if len(table) != scores.shape[-1]:
        sys.exit(f"ocr: {len(table)} characters for {scores.shape[-1]} classes")
    best = scores.argmax(axis=-1)
    changed = np.concatenate([[True], best[1:] != best[:-1]])
    return "".join(table[index] for index in best[changed])


def main(arguments):
    match arguments:
        case ["render", text, path]:
            render(text, path)
        case ["prepare", image, npz]:
            prepare(image, npz)
        case ["decode", model, npz]:
            print(decode(model, npz))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
