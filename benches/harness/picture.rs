//! A picture in memory that plotters draws on, with a font of its own, and that is written as PNG.

use miniz_oxide::deflate::compress_to_vec_zlib;
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};
use plotters_backend::{
    BackendColor, BackendCoord, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    text_anchor::{HPos, VPos},
};
use std::{convert::Infallible, fs, io, path::Path};

const WEIGHT: FontWeight = FontWeight::Regular;
/// Texts of this size and larger ones are drawn large.
const LARGE: f64 = 18.0;

/// White at first. Red, green and blue, line by line.
pub struct Picture {
    size: (u32, u32),
    pixels: Vec<u8>,
}

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

impl Picture {
    pub fn new(size: (u32, u32)) -> Self {
        Self { size, pixels: vec![255; (size.0 * size.1 * 3) as usize] }
    }

    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut header = [self.size.0.to_be_bytes(), self.size.1.to_be_bytes()].concat();
        // Eight bits of each of three colours; the one way to compress, the one way to filter, not interlaced.
        header.extend([8, 2, 0, 0, 0]);
        let mut lines = Vec::new();
        for line in self.pixels.chunks_exact(self.size.0 as usize * 3) {
            // Not filtered.
            lines.push(0);
            lines.extend_from_slice(line);
        }
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        for (name, content) in
            [(b"IHDR", header), (b"IDAT", compress_to_vec_zlib(&lines, 6)), (b"IEND", Vec::new())]
        {
            let named = [&name[..], &content].concat();
            file.extend((content.len() as u32).to_be_bytes());
            file.extend_from_slice(&named);
            file.extend(crc(&named).to_be_bytes());
        }
        fs::write(path, file)
    }

    /// Mixes a colour into what is there. What lies outside is left out.
    fn mix(&mut self, (x, y): BackendCoord, color: BackendColor) {
        let (width, height) = (self.size.0 as i32, self.size.1 as i32);
        if (0..width).contains(&x) && (0..height).contains(&y) {
            let at = (y * width + x) as usize * 3;
            for (pixel, own) in
                self.pixels[at..at + 3].iter_mut().zip([color.rgb.0, color.rgb.1, color.rgb.2])
            {
                *pixel =
                    (f64::from(*pixel) * (1.0 - color.alpha) + f64::from(own) * color.alpha).round() as u8;
            }
        }
    }
}

/// The checksum of a PNG's chunks (CRC-32 of ISO 3309).
fn crc(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

fn height(size: f64) -> RasterHeight {
    if size < LARGE { RasterHeight::Size16 } else { RasterHeight::Size20 }
}

/// Width and height of a text in pixels.
fn extent(text: &str, size: f64) -> (u32, u32) {
    let height = height(size);
    ((text.chars().count() * get_raster_width(WEIGHT, height)) as u32, height.val() as u32)
}

impl DrawingBackend for &mut Picture {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Drawn {
        self.mix(point, color);
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, at: BackendCoord) -> Drawn {
        let (color, height) = (style.color(), height(style.size()));
        let (wide, high) = extent(text, style.size());
        let (wide, high) = (wide as i32, high as i32);
        let left = match style.anchor().h_pos {
            HPos::Left => 0,
            HPos::Center => -wide / 2,
            HPos::Right => -wide,
        };
        let top = match style.anchor().v_pos {
            VPos::Top => 0,
            VPos::Center => -high / 2,
            VPos::Bottom => -high,
        };
        let step = get_raster_width(WEIGHT, height) as i32;
        for (place, letter) in text.chars().enumerate() {
            let raster = get_raster(letter, WEIGHT, height).or_else(|| get_raster('?', WEIGHT, height));
            let raster = raster.expect("the font has a question mark");
            for (y, line) in raster.rows().enumerate() {
                for (x, strength) in line.iter().enumerate().filter(|(_, strength)| **strength > 0) {
                    let (x, y) = (left + place as i32 * step + x as i32, top + y as i32);
                    let (x, y) = style.transform().transform(x, y);
                    let alpha = color.alpha * f64::from(*strength) / 255.0;
                    self.mix((at.0 + x, at.1 + y), BackendColor { alpha, ..color });
                }
            }
        }
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        Ok(extent(text, style.size()))
    }
}
