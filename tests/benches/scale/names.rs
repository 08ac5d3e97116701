//! Realistic names: some are very frequent, and some have letters beyond ASCII.

/// A generator of numbers that look random and are the same in each run.
pub struct Draw(u64);

impl Draw {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    /// Returns one of these. The first ones are more frequent than the last ones.
    pub fn one_of<'a>(&mut self, of: &[&'a str]) -> &'a str {
        let (one, other) = (self.below(of.len()), self.below(of.len()));
        of[one.min(other)]
    }
}

const GIVEN: [&str; 48] = [
    "Maria",
    "Anna",
    "Thomas",
    "Michael",
    "Andrea",
    "Peter",
    "Julia",
    "Martin",
    "Sofia",
    "Lukas",
    "Emma",
    "Paul",
    "Laura",
    "Daniel",
    "Eva",
    "David",
    "Lena",
    "Stefan",
    "Jürgen",
    "Marie",
    "Jan",
    "Ada",
    "Grace",
    "Alan",
    "Søren",
    "Åsa",
    "Łukasz",
    "Zoë",
    "Noël",
    "Chloé",
    "Özlem",
    "Mehmet",
    "Nguyễn",
    "Olena",
    "Ольга",
    "Иван",
    "Γιώργος",
    "Ελένη",
    "伟",
    "芳",
    "さくら",
    "健太",
    "지우",
    "민준",
    "فاطمة",
    "محمد",
    "Xiomara",
    "Quirin",
];
const BEGINNINGS: [&str; 40] = [
    "Müll", "Schmi", "Schnei", "Fisch", "Web", "Wag", "Beck", "Hoff", "Koch", "Bau", "Richt",
    "Klein", "Wolf", "Schrö", "Neu", "Schwar", "Zimm", "Brau", "Krü", "Hart", "Lang", "Wer",
    "Krau", "Lehm", "Köh", "Mai", "Her", "Wal", "Kai", "Fuch", "Pet", "Scho", "Weiß", "Jung",
    "Hahn", "Kel", "Vog", "Fried", "Lovel", "Hop",
];
const ENDINGS: [&str; 25] = [
    "er", "mann", "dt", "der", "ner", "ler", "bach", "berg", "hof", "stein", "feld", "son", "sen",
    "ov", "ova", "ski", "ace", "per", "inger", "wald", "thal", "burg", "hauser", "brandt", "mayer",
];

/// Returns a given name and a family name.
pub fn name(draw: &mut Draw) -> (String, String) {
    let given = draw.one_of(&GIVEN).to_owned();
    let family = format!("{}{}", draw.one_of(&BEGINNINGS), draw.one_of(&ENDINGS));
    (given, family)
}
